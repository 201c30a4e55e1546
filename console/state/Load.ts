/**
 * What a page has asked for once: on its way, here, or refused. What is here stays on the page while it is asked again.
 *
 * - A1 An answer to an earlier question never replaces that of a later one.
 * - A2 What failed with a token that is not taken any more is asked again with the next one.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { asking } from "./Deployment.ts"
import { useNewToken } from "./NewToken.ts"

export interface Loaded<A> {
  readonly value: A | undefined
  readonly error: unknown
  readonly isLoading: boolean
  readonly reload: () => void
}

/** Asks whenever the key changes, or it is told to. */
export const useLoad = <A>(key: string, ask: (signal: AbortSignal) => Promise<A>): Loaded<A> => {
  const [state, setState] = useState<{
    readonly key: string
    readonly value?: A
    readonly error?: unknown
    readonly isLoading: boolean
  }>({ key, isLoading: true })
  const [count, setCount] = useState(0)
  const latest = useRef(ask)
  latest.current = ask
  useEffect(() => {
    const leaving = new AbortController()
    setState((before) => ({
      ...(before.key === key && before.value !== undefined ? { value: before.value } : {}),
      key,
      isLoading: true,
    }))
    asking(() => latest.current(leaving.signal)).then(
      (value) => leaving.signal.aborted || setState({ key, value, isLoading: false }), // A1
      (error: unknown) =>
        leaving.signal.aborted || setState((before) => ({ ...before, error, isLoading: false })),
    )
    return () => leaving.abort()
  }, [key, count])
  const reload = useCallback(() => setCount((before) => before + 1), [])
  useNewToken(reload) // A2
  return {
    value: state.key === key ? state.value : undefined,
    error: state.key === key ? state.error : undefined,
    isLoading: state.isLoading || state.key !== key,
    reload,
  }
}
