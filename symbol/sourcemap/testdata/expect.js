// Prints, for each place of the files given, what Node's own reader of source maps says: file, line, column, and the
// source with its line and column, all from 1.
const fs = require('fs')
const { SourceMap } = require('module')
for (const file of process.argv.slice(2)) {
  const text = fs.readFileSync(file, 'utf8')
  const link = text.match(/sourceMappingURL=(.*)/)[1]
  const json = link.startsWith('data:') ? Buffer.from(link.split('base64,')[1], 'base64') : fs.readFileSync(
    require('path').join(require('path').dirname(file), link))
  const map = new SourceMap(JSON.parse(json))
  text.split('\n').forEach((row, line) => {
    for (let column = 0; column <= row.length; column++) {
      const e = map.findEntry(line, column)
      const known = e.originalSource && e.generatedLine === line // it looks in lines before, too
      console.log(file, line + 1, column + 1, known ? `${e.originalSource} ${e.originalLine + 1} ${
        e.originalColumn + 1}` : '-')
      if (column > 400) break
    }
  })
}
