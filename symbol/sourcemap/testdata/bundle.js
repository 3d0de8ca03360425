var t=class{constructor(n,r){this.name=n;this.size=r}name;size},a=class extends t{area(n){let r=0;for(let o=0;o<n;o++)r+=this.size*o%7;return s(),r*.3048}};function s(){(globalThis.hook??(()=>{}))()}function u(e){return e.area(1e3)}var m=e=>e.reduce((n,r)=>n+u(r),0);globalThis.hook=()=>{console.log(new Error().stack?.split(`
`).slice(1).join("|")),Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)};m([new a("a",3)]);
//# sourceMappingURL=bundle.js.map
