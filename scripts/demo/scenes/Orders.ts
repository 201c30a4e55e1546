/** Orders whose lines are reserved by children; where one cannot be, the others are given back. */
import { Effect } from "effect"
import type { ThreadId } from "../../../contracts/index.ts"
import { countOf, each, field, type Scene, type Stage, threadsNamed } from "./Scene.ts"

const orders = 12
const linesEach = 3

const isTooMuch = (order: number, line: number): boolean => order % 4 === 3 && line === 1

const place = Effect.fnUntraced(function* (stage: Stage, threadId: ThreadId, order: number) {
  const lines = Array.from({ length: linesEach }, (_, line) => ({
    sku: `sku-${order + 1}-${line + 1}`,
    quantity: isTooMuch(order, line) ? 1_000 : 2,
  }))
  const receipt = yield* stage.submit({
    threadId,
    agent: "order-saga",
    key: threadId,
    input: { lines },
  })
  const { failure, outcome, output } = yield* stage.settled(receipt)
  const records = yield* stage.records(threadId)
  const children = countOf(records, "ChildRequested")
  const heardOf = countOf(records, "ChildSettled")
  const fails = lines.some(({ quantity }) => quantity > 100)
  const reservations = field(output, "reservations")
  const givenBack = field(failure?.error, "givenBack")
  const isRight = fails
    ? outcome === "failed" && Array.isArray(givenBack) && givenBack.length === linesEach - 1
    : outcome === "completed" && Array.isArray(reservations) && reservations.length === linesEach
  const wanted = fails ? linesEach + linesEach - 1 : linesEach
  return {
    fails,
    children,
    findings:
      isRight && children === wanted && heardOf === wanted
        ? []
        : [`${threadId}: ${outcome}, ${children} children, ${heardOf} of them heard of`],
  }
})

export const ordersScene: Scene = Effect.fnUntraced(function* (stage) {
  const placed = yield* each(threadsNamed("order", orders), (threadId, order) =>
    place(stage, threadId, order),
  )
  const children = placed.reduce((sum, order) => sum + order.children, 0)
  const failed = placed.filter(({ fails }) => fails).length
  return {
    example: "04-order-saga",
    threads: orders + children,
    submissions: orders + children,
    told: `${orders} orders, ${children} children; ${failed} gave back what they had reserved`,
    findings: placed.flatMap(({ findings }) => findings),
  }
})
