/**
 * The script of the page on which operations can be tried. It searches all texts of an operation:
 * Swagger UI alone would search the names of tags only.
 */
export const DOCS_SCRIPT = `'use strict';
const texts = new Map();

/* Names and texts of a part of the document, with those of the schemas that it refers to. */
const collect = (part, schemas, into, seen) => {
  if (Array.isArray(part)) return part.forEach((one) => collect(one, schemas, into, seen));
  if (typeof part !== 'object' || part === null) return void into.push(String(part));
  for (const [key, value] of Object.entries(part)) {
    if (key === '$ref') {
      const name = value.split('/').at(-1);
      if (seen.has(name)) continue;
      seen.add(name);
      into.push(name);
      collect(schemas[name], schemas, into, seen);
    } else if (key !== 'example') {
      into.push(key);
      collect(value, schemas, into, seen);
    }
  }
};

/* Optional parameters stay empty in "Try it out": their examples become part of the text. */
const withoutPresets = (operation) => {
  for (const parameter of operation.parameters ?? []) {
    if (parameter.required || parameter.example === undefined) continue;
    parameter.description = (parameter.description ?? '') + '\\n\\nExample: \`' + parameter.example + '\`';
    delete parameter.example;
  }
};

const matching = (path, method, phrase) => {
  const text = texts.get(method + ' ' + path) ?? '';
  return phrase.toLowerCase().split(/\\s+/).every((word) => text.includes(word));
};

const search = {
  fn: {
    opsFilter: (tags, phrase) =>
      tags
        .map((tag) =>
          tag.set('operations', tag.get('operations').filter((one) => matching(one.get('path'), one.get('method'), phrase))))
        .filter((tag) => tag.get('operations').size > 0),
  },
  // The page has a field of its own, which says what it searches.
  wrapComponents: { FilterContainer: () => () => null },
};

const start = async () => {
  const root = document.getElementById('docs');
  const response = await fetch(root.dataset.document);
  const spec = await response.json();
  for (const [path, item] of Object.entries(spec.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const words = [method, path];
      collect(operation, spec.components.schemas, words, new Set());
      texts.set(method + ' ' + path, words.join(' ').toLowerCase());
      withoutPresets(operation);
    }
  }
  const ui = SwaggerUIBundle({
    spec,
    domNode: root,
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    // Tokens in the local storage could be read by any script of this origin.
    persistAuthorization: false,
    validatorUrl: null,
    plugins: [search],
  });
  const field = document.getElementById('search');
  const found = document.getElementById('found');
  const show = () => {
    const phrase = field.value.trim();
    document.body.classList.toggle('searching', phrase !== '');
    ui.layoutActions.updateFilter(phrase === '' ? false : phrase);
    const count = [...texts.keys()].filter((key) => matching(key.slice(key.indexOf(' ') + 1), key.split(' ')[0], phrase)).length;
    found.textContent = phrase === '' ? '' : count + ' of ' + texts.size + ' operations';
  };
  field.addEventListener('input', show);
  field.disabled = false;
  if (field.value) show();
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('input, select, textarea')) return;
    event.preventDefault();
    field.focus();
  });
};
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
start().catch((error) => {
  document.getElementById('docs').textContent = 'The documentation could not be loaded: ' + error.message;
});
`;

/** The styles of both pages, and those around Swagger UI. */
export const DOCS_STYLES = `
body { margin: 0; background: var(--page); color: var(--text); font-family: var(--font); }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 0.92em; overflow-wrap: anywhere; }
.page { display: grid; grid-template-columns: 200px minmax(0, 1fr); max-width: 1200px; margin: 0 auto; line-height: 1.5; }
.page nav { position: sticky; top: 58px; max-height: calc(100vh - 58px); overflow-y: auto; padding: 16px 0 16px 24px; }
.page nav ul { margin: 0; padding: 0; list-style: none; }
.page nav a { display: block; padding: 4px 8px; border-radius: 6px; text-decoration: none; }
.page nav a:hover { background: var(--tint); }
.page main { padding: 8px 24px 60vh; }
.page :target { scroll-margin-top: 70px; }
.page h2 { margin: 32px 0 4px; padding-top: 16px; border-top: 1px solid var(--line); font-size: 24px; }
.page h3 { margin: 0 0 4px; font-size: 17px; }
.page h4 { margin: 16px 0 4px; font-size: 14px; }
.page article { margin: 16px 0; padding: 16px 20px; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.page article p { margin: 4px 0; }
.page dl { margin: 4px 0; }
.page dt { margin-top: 8px; }
.page dt code { font-weight: 600; }
.page dd { margin: 0 0 0 20px; }
.page dt span, .page dd { color: var(--muted); }
.page pre { margin: 8px 0 0; padding: 10px 12px; white-space: pre-wrap; background: var(--page); border: 1px solid var(--line); border-radius: 6px; }
.verb { color: var(--accent-strong); }
@media (max-width: 760px) {
  .page { display: block; }
  .page nav { top: 0; z-index: 9; padding: 6px 12px; overflow-x: auto; background: var(--card); border-bottom: 1px solid var(--line); }
  .page nav ul { display: flex; }
  .page nav a { white-space: nowrap; }
  .page main { padding: 8px 12px 60vh; }
  .reference .bar { position: static; }
}
.bar { position: sticky; top: 0; z-index: 10; display: flex; flex-wrap: wrap; gap: 8px 20px; align-items: center;
  padding: 10px 24px; background: var(--card); border-bottom: 1px solid var(--line); }
.bar h1 { margin: 0; font-size: 18px; }
.bar h1 small { font-weight: 400; color: var(--muted); margin-left: 6px; }
.bar input { flex: 1 1 260px; max-width: 520px; padding: 8px 12px; font: inherit; color: var(--text);
  background: var(--page); border: 1px solid var(--field-line); border-radius: 6px; }
#found { color: var(--muted); font-size: 14px; min-width: 12ch; }
.swagger-ui .info { margin: 24px 0; }
.swagger-ui .info hgroup.main h2, .swagger-ui .info hgroup.main .title { display: none; }
body.searching .information-container { display: none; }
.loading { padding: 24px; }
html.dark-mode .swagger-ui { color-scheme: dark; }
`;
