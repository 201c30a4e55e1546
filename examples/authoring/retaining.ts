/** A deployment that keeps content for a time, as the guide shows it. */
import { Heddle } from "../../heddle.ts"
import { PlaceOrderLive } from "../00-order.ts"

const agents = [PlaceOrderLive]

export const heddle = Heddle.make({ agents, retention: { settledAfter: "30 days" } })
