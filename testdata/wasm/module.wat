;; What the hosts of host.c run. Each function has a place in a chain that the tests know. Functions keep their
;; callers on the stack: each adds to what it called.
(module
  (import "host" "wait_import" (func $wait_import (param i32) (result i32)))
  (import "host" "enter_again" (func $enter_again (param i32) (result i32)))
  (memory (export "memory") 1)

  ;; spins: work_leaf < work_outer < a function without a name < work_main
  (func $work_leaf (param $n i32) (result i32) (local $s i32)
    (loop $more
      (local.set $s (i32.add (i32.mul (local.get $s) (i32.const 31)) (local.get $n)))
      (i32.store (i32.const 64) (local.get $s))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $more (local.get $n)))
    (i32.add (local.get $s) (i32.load (i32.const 64))))
  (func $work_outer (param $n i32) (result i32)
    (i32.add (call $work_leaf (local.get $n)) (i32.load (i32.const 64))))
  (func (param $n i32) (result i32)
    (i32.add (call $work_outer (i32.add (local.get $n) (i32.const 7)))
             (call $work_outer (i32.add (local.get $n) (i32.const 3)))))
  (func $work_main (export "work_main") (param $n i32) (result i32) (local $s i32)
    (loop $more
      (local.set $s (i32.add (local.get $s) (call 4 (i32.const 5))))
      (i32.store (i32.const 128) (local.get $s))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $more (local.get $n)))
    (local.get $s))

  ;; waits in the host: import_leaf < recurse x4 < import_main
  (func $import_leaf (param $n i32) (result i32)
    (i32.add (call $wait_import (local.get $n)) (i32.load (i32.const 64))))
  (func $recurse (param $depth i32) (param $n i32) (result i32)
    (if (result i32) (local.get $depth)
      (then (i32.add (call $recurse (i32.sub (local.get $depth) (i32.const 1)) (local.get $n))
                     (i32.load (i32.const 64))))
      (else (i32.add (call $import_leaf (local.get $n)) (i32.load (i32.const 64))))))
  (func $import_main (export "import_main") (param $n i32) (result i32)
    (i32.add (call $recurse (i32.const 3) (local.get $n)) (i32.load (i32.const 64))))

  ;; goes to the host, which enters again: again_leaf < again_main
  (func $again_leaf (param $n i32) (result i32)
    (i32.add (call $enter_again (local.get $n)) (i32.load (i32.const 64))))
  (func $again_main (export "again_main") (param $n i32) (result i32)
    (i32.add (call $again_leaf (local.get $n)) (i32.load (i32.const 64))))

  ;; names as compilers and people write them
  (func $_ZN4demo6engine4stepERKNS_5stateE (param $n i32) (result i32)
    (i32.add (call $wait_import (local.get $n)) (i32.load (i32.const 64))))
  (func $"na\c3\afve name<with, spaces>" (param $n i32) (result i32)
    (i32.add (call $_ZN4demo6engine4stepERKNS_5stateE (local.get $n)) (i32.load (i32.const 64))))
  (func $_RNvCs1234_7mycrate3foo (export "names_main") (param $n i32) (result i32)
    (i32.add (call $"na\c3\afve name<with, spaces>" (local.get $n)) (i32.load (i32.const 64))))

  ;; an endless chain of tail calls: tail_even and tail_odd take turns below tail_main
  (func $tail_even (param $n i32) (param $s i32) (result i32)
    (if (result i32) (local.get $n)
      (then (return_call $tail_odd (i32.sub (local.get $n) (i32.const 1)) (i32.add (local.get $s) (i32.const 2))
        (local.get $n) (local.get $n) (local.get $s) (local.get $s) (local.get $n) (local.get $s) (local.get $n)))
      (else (local.get $s))))
  (func $tail_odd (param $n i32) (param $s i32) (param i32 i32 i32 i32 i32 i32 i32) (result i32)
    (return_call $tail_even (local.get $n) (i32.add (local.get $s) (local.get 5))))
  (func $tail_main (export "tail_main") (param $n i32) (result i32) (local $s i32)
    (loop $more
      (local.set $s (i32.add (local.get $s) (call $tail_even (i32.const 1000) (local.get $n))))
      (i32.store (i32.const 128) (local.get $s))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $more (local.get $n)))
    (local.get $s)))
