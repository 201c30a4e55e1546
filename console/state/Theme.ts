/** Dark or light: as the system says, unless the reader says otherwise in this tab. */
import { effect, signal } from "@preact/signals"

export type Theme = "system" | "light" | "dark"

const key = "heddle.theme"
const themes: ReadonlyArray<Theme> = ["system", "light", "dark"]

const kept = (): Theme => {
  try {
    const theme = sessionStorage.getItem(key) as Theme | null
    return theme !== null && themes.includes(theme) ? theme : "system"
  } catch {
    return "system"
  }
}

export const theme = signal<Theme>(kept())

export const nextTheme = (): void => {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system"
}

effect(() => {
  const chosen = theme.value
  if (chosen === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = chosen
  try {
    sessionStorage.setItem(key, chosen)
  } catch {
    // Then it is chosen again.
  }
})
