/** Colours, the font and the focus ring of every page, light and dark. Contrasts meet WCAG AA. */
export const PALETTE = `:root {
  color-scheme: light dark;
  --page: #f3f4f8; --card: #ffffff; --text: #171a26; --muted: #565d73; --line: #d4d8e3; --field-line: #868da3;
  --accent: #3d3fc4; --accent-strong: #2e309e; --on-accent: #ffffff; --tint: #ededfc; --hover: #f6f6fd;
  --error: #b3151f; --error-tint: #fdf0f0; --error-line: #eeb9bc; --shadow: 0 1px 2px rgb(23 26 38 / 6%), 0 12px 32px rgb(23 26 38 / 8%);
  --font: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #10121a; --card: #191c27; --text: #eceef6; --muted: #a9b0c5; --line: #323748; --field-line: #757d96;
    --accent: #a5a8ff; --accent-strong: #c0c2ff; --on-accent: #14152e; --tint: #262a49; --hover: #212533;
    --error: #ff9da2; --error-tint: #331c22; --error-line: #6b323a; --shadow: 0 1px 2px rgb(0 0 0 / 40%);
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
a { color: var(--accent); text-underline-offset: 3px; }
a:hover { color: var(--accent-strong); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
`;
