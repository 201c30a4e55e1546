/**
 * The cloth as it is drawn: a row for each lane, time from left to right, a mark wherever the owner told of it. It moves
 * while somebody looks, and stands still, but for once a second, for who wants less motion.
 */
import { useSignalEffect } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import type { MaintenancePassReport } from "../../client/sdk/index.ts"
import { type ClothRow, drawnOf, placeOf } from "../lib/Cloth.ts"
import { present, visible } from "../state/Now.ts"
import { theme } from "../state/Theme.ts"

export interface PictureProps {
  readonly rows: ReadonlyArray<ClothRow>
  readonly passes: ReadonlyArray<MaintenancePassReport>
  readonly windowMillis: number
}

export const rowPixels = 24

/** Marks that would touch are one. */
const markPixels = 4

const frameMillis = 50
const calmMillis = 1_000

/** How thick a condition is drawn; what is not here is a line. */
const thickness: Readonly<Record<string, number>> = {
  running: 12,
  faulted: 8,
  unknown: 8,
  paused: 4,
  condemned: 4,
  ready: 4,
  suspended: 2,
}

type Colours = (name: string) => string

const coloursOf = (element: HTMLElement): Colours => {
  const style = getComputedStyle(element)
  const known = new Map<string, string>()
  return (name) => {
    const found = known.get(name) ?? style.getPropertyValue(`--${name}`).trim()
    known.set(name, found)
    return found
  }
}

interface Board {
  readonly context: CanvasRenderingContext2D
  readonly width: number
  readonly colours: Colours
  readonly now: number
  readonly windowMillis: number
}

const drawPasses = (board: Board, passes: PictureProps["passes"], height: number): void => {
  const { colours, context, width } = board
  context.fillStyle = colours("pass")
  for (const { endedAt, startedAt } of passes) {
    const from = placeOf(startedAt, board) * width
    const to = placeOf(endedAt, board) * width
    if (to > 0)
      context.fillRect(Math.max(0, from), 0, Math.max(1.5, to - Math.max(0, from)), height)
  }
}

const drawRow = (board: Board, row: ClothRow, top: number): void => {
  const { colours, context, width } = board
  const middle = top + rowPixels / 2
  context.fillStyle = colours("warp")
  context.fillRect(0, Math.floor(middle), width, 1)
  for (const { condition, from, to } of drawnOf(row, board)) {
    const high = thickness[condition]
    if (high === undefined) continue
    context.fillStyle = colours(condition)
    // A turn may be too short for its width; that it happened is to be seen all the same.
    const long = Math.max(condition === "running" ? 2 : 0, (to - from) * width)
    if (long < 1) continue
    context.beginPath()
    context.roundRect(from * width, middle - high / 2, long, high, Math.min(3, high / 2))
    context.fill()
  }
  context.fillStyle = colours("weft")
  let last = -markPixels
  for (const at of row.told) {
    const x = placeOf(at, board) * width
    if (x < 0 || x - last < markPixels) continue
    context.fillRect(x - 1, middle - 6, 2, 12)
    last = x
  }
}

const draw = (canvas: HTMLCanvasElement, props: PictureProps): void => {
  const context = canvas.getContext("2d")
  const width = canvas.clientWidth
  const height = Math.max(1, props.rows.length) * rowPixels
  if (context === null || width === 0) return
  const ratio = devicePixelRatio
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  const { windowMillis } = props
  const board = { context, width, colours: coloursOf(canvas), now: present(), windowMillis }
  drawPasses(board, props.passes, height)
  for (const [index, row] of props.rows.entries()) drawRow(board, row, index * rowPixels)
}

const isCalm = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches

/** What it shows is in the list beside it, too: it is for the eye alone. */
export const Picture = (props: PictureProps) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    const turn = () => {
      if (visible.peek() && canvas.current !== null) draw(canvas.current, latest.current)
    }
    turn()
    const timer = setInterval(turn, isCalm() ? calmMillis : frameMillis)
    return () => clearInterval(timer)
  }, [])
  useSignalEffect(() => {
    if (theme.value && canvas.current !== null) draw(canvas.current, latest.current)
  })
  return (
    <canvas
      ref={canvas}
      class="picture"
      aria-hidden
      style={{ height: `${Math.max(1, props.rows.length) * rowPixels}px` }}
    />
  )
}
