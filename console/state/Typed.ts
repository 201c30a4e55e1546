/**
 * A text as it is typed, told once the typing rests.
 *
 * - T1 What is typed is not taken back by what was told of it before: the page may answer while somebody types on.
 */
import { useEffect, useRef, useState } from "preact/hooks"

const restMillis = 250

export const useTyped = (given: string, tell: (text: string) => void) => {
  const [text, setText] = useState(given)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const told = useRef(given)
  useEffect(() => {
    if (given === told.current) return // T1
    told.current = given
    clearTimeout(timer.current)
    setText(given)
  }, [given])
  // Whoever has left the page meanwhile is not led back to it.
  useEffect(() => () => clearTimeout(timer.current), [])
  const type = (typed: string) => {
    setText(typed)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      told.current = typed
      tell(typed)
    }, restMillis)
  }
  return { text, type }
}
