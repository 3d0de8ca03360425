const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

async function main() {
  for (let i = 0; ; i++) {
    console.log('ready', i);
    await sleep(20000);
  }
}
main();
