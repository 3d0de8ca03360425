import { Square, type Shape } from './shapes'

type Named<T> = { [K in keyof T]: T[K] }

function measure(shape: Named<Shape>): number {
  return shape.area(1000)
}

const run = <T extends Shape>(shapes: T[]): number =>
  shapes.reduce((sum, s) => sum + measure(s), 0)

;(globalThis as any).hook = () => {
  console.log('{"stack": []}')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
run([new Square('a', 3)])
