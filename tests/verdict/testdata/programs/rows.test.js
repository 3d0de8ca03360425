const net = require('net');

describe('rows', () => {
  test('quick', () => {});
  test('asks for rows', async () => {
    await new Promise((resolve) => { // HERE
      const s = net.connect(Number(require('fs').readFileSync('port')), '127.0.0.1', () => {
        require('fs').appendFileSync('out', 'ready\n');
      });
      s.on('data', resolve);
    });
  }, 900000);
});
