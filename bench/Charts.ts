/**
 * The scaling rows as charts: one figure over a size, on logarithmic sizes, as SVG text. Pure.
 *
 * - C1 What is drawn is what was measured; the table has the same figures.
 */
import type { Result } from "./Measure.ts"
import type { Chart } from "./Row.ts"

const width = 640
const height = 320
const margin = { left: 72, right: 24, top: 40, bottom: 48 }

interface Point {
  readonly at: number
  readonly value: number
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const text = (
  x: number,
  y: number,
  content: string,
  anchor: "start" | "middle" | "end" = "middle",
): string =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" font-family="sans-serif" font-size="12">${escaped(content)}</text>`

const short = (value: number): string =>
  value >= 1_000 ? value.toLocaleString("en-US") : `${Number(value.toPrecision(3))}`

/** A round number above all values, so that the axis ends at one. */
const ceilingOf = (value: number): number => {
  if (value <= 0) return 1
  const magnitude = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 2.5, 5, 10].find((step) => step * magnitude >= value * 1.1) ?? 10) * magnitude
}

const draw = (chart: Chart, points: ReadonlyArray<Point>): string => {
  const inner = {
    width: width - margin.left - margin.right,
    height: height - margin.top - margin.bottom,
  }
  const logs = points.map(({ at }) => Math.log10(Math.max(1, at)))
  const [least, most] = [Math.min(...logs), Math.max(...logs)]
  const top = ceilingOf(Math.max(...points.map(({ value }) => value)))
  const x = (at: number): number =>
    margin.left +
    (most === least
      ? inner.width / 2
      : ((Math.log10(Math.max(1, at)) - least) / (most - least)) * inner.width)
  const y = (value: number): number => margin.top + inner.height - (value / top) * inner.height
  const lines = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = y(part * top)
    return (
      `<line x1="${margin.left}" y1="${at}" x2="${width - margin.right}" y2="${at}" stroke="#ddd"/>` +
      text(margin.left - 8, at + 4, short(part * top), "end")
    )
  })
  const marks = points.map(
    ({ at, value }) =>
      `<circle cx="${x(at).toFixed(1)}" cy="${y(value).toFixed(1)}" r="4" fill="#1f6feb"/>` +
      text(x(at), y(value) - 10, short(value)) +
      text(x(at), height - margin.bottom + 18, short(at)),
  )
  const path = points.map(({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ")
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(chart.title)}">
<rect width="${width}" height="${height}" fill="#fff"/>
${text(width / 2, 22, chart.title)}
${lines.join("\n")}
<polyline points="${path}" fill="none" stroke="#1f6feb" stroke-width="2"/>
${marks.join("\n")}
${text(width / 2, height - 10, chart.x)}
<text x="16" y="${height / 2}" transform="rotate(-90 16 ${height / 2})" text-anchor="middle" font-family="sans-serif" font-size="12">${escaped(chart.y)}</text>
</svg>
`
}

/** The charts of which every row was measured. */
export const chartRows = (
  charts: ReadonlyArray<Chart>,
  results: ReadonlyArray<Result>,
): ReadonlyArray<{ readonly name: string; readonly svg: string }> =>
  charts.flatMap((chart) => {
    const points = chart.points.flatMap(({ at, row }) => {
      const result = results.find((one) => one.row.name === row)
      return result === undefined ? [] : [{ at, value: result.value }]
    })
    return points.length === chart.points.length
      ? [{ name: chart.name, svg: draw(chart, points) }] // C1
      : []
  })
