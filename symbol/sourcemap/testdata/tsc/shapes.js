"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.Square = void 0;
var Unit;
(function (Unit) {
    Unit[Unit["Metre"] = 1] = "Metre";
    Unit[Unit["Foot"] = 0.3048] = "Foot";
})(Unit || (Unit = {}));
class Base {
    constructor(name, size) {
        this.name = name;
        this.size = size;
    }
}
class Square extends Base {
    area(n) {
        let sum = 0;
        for (let i = 0; i < n; i++) {
            sum += (this.size * i) % 7;
        }
        hold();
        return sum * Unit.Foot;
    }
}
exports.Square = Square;
function hold() {
    const h = globalThis.hook ?? (() => undefined);
    h();
}
//# sourceMappingURL=shapes.js.map