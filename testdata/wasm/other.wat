;; A second module, which calls the first: other_leaf < other_main, with the first module's work_main or import_main
;; below.
(module
  (import "first" "work_main" (func $work_main (param i32) (result i32)))
  (import "first" "import_main" (func $import_main (param i32) (result i32)))
  (memory 1)
  (func $other_leaf (param $n i32) (param $which i32) (result i32)
    (if (result i32) (local.get $which)
      (then (i32.add (call $work_main (local.get $n)) (i32.load (i32.const 64))))
      (else (i32.add (call $import_main (local.get $n)) (i32.load (i32.const 64))))))
  (func $other_work (export "other_work") (param $n i32) (result i32)
    (i32.add (call $other_leaf (local.get $n) (i32.const 1)) (i32.load (i32.const 64))))
  (func $other_import (export "other_import") (param $n i32) (result i32)
    (i32.add (call $other_leaf (local.get $n) (i32.const 0)) (i32.load (i32.const 64)))))
