/** Has a page do something again with each new token. */
import { useEffect, useRef } from "preact/hooks"
import { onNewToken } from "./Session.ts"

export const useNewToken = (then: () => void): void => {
  const latest = useRef(then)
  latest.current = then
  useEffect(() => onNewToken(() => latest.current()), [])
}
