/** A deployment whose outcomes can be searched, as the guide shows it. */
import { Heddle } from "../../heddle.ts"
import { PlaceOrderLive } from "../00-order.ts"

const agents = [PlaceOrderLive]

export const heddle = Heddle.make({ agents, search: { outcomes: true } })
