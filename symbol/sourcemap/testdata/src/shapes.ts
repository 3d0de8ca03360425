// Shapes of several kinds, hot in area.
export interface Shape {
  readonly name: string
  area(n: number): number
}

enum Unit { Metre = 1, Foot = 0.3048 }

abstract class Base<T extends number> implements Shape {
  constructor(public readonly name: string, protected size: T) {}

  abstract area(n: number): number
}

export class Square extends Base<number> {
  area(n: number): number {
    let sum = 0
    for (let i: number = 0; i < n; i++) {
      sum += (this.size * i) % 7
    }
    hold()
    return sum * Unit.Foot
  }
}

declare const hook: () => void

function hold(): void {
  const h: () => void = (globalThis as any).hook ?? (() => undefined)
  h()
}
