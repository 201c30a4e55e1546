/**
 * Bounds for text that goes into records: a digest must stay small whatever the document holds.
 */

/**
 * At most `charactersMax` UTF-16 units, the last one an ellipsis if something was cut. Never cuts
 * through a surrogate pair: half of one is not text, and a record that holds it would be refused.
 */
export const clip = (text: string, charactersMax: number): string => {
  if (text.length <= charactersMax) return text
  const kept = text.slice(0, charactersMax - 1)
  const last = kept.charCodeAt(kept.length - 1)
  const cutsPair = last >= 0xd800 && last <= 0xdbff
  return `${cutsPair ? kept.slice(0, -1) : kept}…`
}
