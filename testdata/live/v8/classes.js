const truth = require('./truth.js');
function spin(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s = (s ^ i) * 7 | 0;
  return s;
}
function leaf(n) {
  return truth.say(), spin(n);
}
class Animal {
  constructor(n) {
    this.n = this.speak(n);
  }
  speak(n) {
    return this.#secret(n);
  }
  #secret(n) {
    const self = this;
    return (() => self.loud(n))();
  }
  loud(n) {
    return leaf(n);
  }
  get val() {
    return new Animal(3000).n;
  }
}
class Robot extends Animal {
  constructor(n) {
    super(n);
  }
  walk(n) {
    return Reflect.apply(this.step, this, [n]);
  }
  step(n) {
    let t = 0;
    [n].forEach((x) => {
      t += new Robot(x).n;
    });
    return t;
  }
}
function closure(n) {
  const r = Object.create(Robot.prototype);
  return function run() {
    return [n].map((x) => r.walk(x))[0];
  };
}
const run = closure(3000);
for (;;) {
  run();
}
