/**
 * Who is here: the token, what it says of itself, and whether the deployment still takes it.
 *
 * - S1 The token is in memory; in session storage only where somebody asked for it; never in an address, in local storage
 *   or on the page.
 * - S2 A token that is not taken any more leaves the page as it is: what waits for a new one goes on with it.
 * - S3 What one reader was shown is left to no other: with the token of another one, as far as tokens tell, pages begin anew.
 */
import { computed, effect, signal, untracked } from "@preact/signals"
import { isSameReader, tidyToken, wordsOfToken } from "../lib/Token.ts"

const tokenKey = "heddle.token"
const authorKey = "heddle.author"

/** Storage may be refused by the browser's settings. */
const stored = (key: string): string => {
  try {
    return sessionStorage.getItem(key) ?? ""
  } catch {
    return ""
  }
}

const store = (key: string, value: string | undefined): void => {
  try {
    if (value === undefined) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, value)
  } catch {
    // Then it is asked for again after a reload.
  }
}

/** Empty when nobody is here. */
export const token = signal(stored(tokenKey)) // S1

/** Why the deployment does not take the token any more; undefined while it does. */
export const refused = signal<string | undefined>(undefined)

/** Counts the tokens: what has failed with one is tried again with the next. */
export const tokenCount = signal(0)

/** Counts the readers: what is kept of one goes with them. */
export const reader = signal(0)

/** Calls at each new token, until the function that it gives is called. */
export const onNewToken = (then: () => void): (() => void) => {
  let seen = tokenCount.peek()
  return effect(() => {
    if (tokenCount.value === seen) return
    seen = tokenCount.value
    untracked(then)
  })
}

export const words = computed(() => wordsOfToken(token.value))

/** The name that was typed, and by whose token: another person's token takes nothing from it. */
interface Typed {
  readonly principal: string
  readonly name: string
}

const readTyped = (text: string): Typed | undefined => {
  const at = text.indexOf("\n")
  return at < 0 ? undefined : { principal: text.slice(0, at), name: text.slice(at + 1) }
}

const typed = signal(readTyped(stored(authorKey)))

const principal = computed(() => words.value.principal ?? "")

/** The name that commands are given under: the token's principal, unless they have typed another. */
export const author = computed(() =>
  typed.value?.principal === principal.value ? typed.value.name : principal.value,
)

export const setAuthor = (name: string): void => {
  typed.value = { principal: principal.value, name }
  store(authorKey, `${principal.value}\n${name}`)
}

/** Takes a token; `keep` has it outlive a reload of this tab. */
export const signIn = (pasted: string, keep: boolean): void => {
  const tidy = tidyToken(pasted)
  store(tokenKey, keep ? tidy : undefined) // S1
  if (!isSameReader(words.value, wordsOfToken(tidy))) reader.value += 1 // S3
  token.value = tidy
  refused.value = undefined
  tokenCount.value += 1
}

export const isKept = (): boolean => stored(tokenKey) !== ""

export const signOut = (): void => {
  store(tokenKey, undefined)
  store(authorKey, undefined)
  typed.value = undefined
  reader.value += 1
  token.value = ""
  refused.value = undefined
}

/** The deployment has refused the token. // S2 */
export const refuse = (reason: string, used: string): void => {
  if (used === token.value) refused.value = reason
}
