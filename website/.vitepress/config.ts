import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DefaultTheme } from 'vitepress';
import { withMermaid } from 'vitepress-plugin-mermaid';

/** Copy of the project's docs/, which scripts/docs.ts made. */
const DOCS = fileURLToPath(new URL('../docs', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Address of the repository, such as https://github.com/owner/carillon; for links to source files. */
const REPOSITORY = process.env['REPOSITORY_URL'];
/** Path of the site below its host, with slashes at both ends. */
const BASE = process.env['SITE_BASE'] ?? '/';
/** A bell, as text, so that no path depends on the base. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path fill="#3451b2" d="M16 3a2 2 0 0 0-2 2v1.3A9 9 0 0 0 7 15v6l-3 4h24l-3-4v-6a9 9 0 0 0-7-8.7V5a2 2 0 0 0-2-2zm-4 24a4 4 0 0 0 8 0z"/></svg>',
)}`;
const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};

/** Pages with their titles, by the headings and tables of docs/README.md. */
function sidebar(): DefaultTheme.SidebarItem[] {
  const text = fs.readFileSync(path.join(DOCS, 'README.md'), 'utf8');
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.split(/[:\n]/)[0]?.trim() ?? '',
      items: [...section.matchAll(/\[([^\]]+)\]\(([^)#:]+\.md)\)/g)].map(([, title, page]) => ({
        text: title ?? '',
        link: `/${page?.replace(/\.md$/, '')}`,
      })),
    }));
}

interface Token {
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

/**
 * Points links to files outside of docs/ to the repository. Without REPOSITORY_URL they lead to the
 * first page, because the site does not contain these files.
 */
function linkSources(md: { renderer: { rules: Record<string, unknown> } }): void {
  const rules = md.renderer.rules as Record<
    string,
    (
      tokens: Token[],
      index: number,
      options: unknown,
      env: { path?: string },
      self: unknown,
    ) => string
  >;
  const before = rules['link_open'];
  rules['link_open'] = (tokens, index, options, env, self) => {
    const token = tokens[index];
    const href = token?.attrGet('href') ?? '';
    if (token && env.path && /^\.{1,2}\//.test(href)) {
      const target = path.resolve(path.dirname(env.path), href.split('#')[0] ?? '');
      // From the copy, one folder up is where the project's root is from docs/.
      const place = path.relative(path.dirname(DOCS), target);
      if (!target.startsWith(DOCS)) {
        token.attrSet('href', REPOSITORY ? `${REPOSITORY}/blob/v${version}/${place}` : BASE);
      }
    }
    return before?.(tokens, index, options, env, self) ?? '';
  };
}

/** Leaves comments out, which `html: false` would show as text. */
function leaveOutComments(md: {
  core: {
    ruler: { before(at: string, name: string, rule: (state: { src: string }) => void): void };
  };
}): void {
  md.core.ruler.before('normalize', 'comments', (state) => {
    state.src = state.src.replaceAll(/^<!--.*?-->$/gm, '');
  });
}

/** A cell of a heading without text is no heading: screen readers would announce it for each row. */
function leaveOutEmptyHeadings(md: {
  core: { ruler: { push(name: string, rule: (state: { tokens: Cell[] }) => void): void } };
}): void {
  md.core.ruler.push('empty-headings', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      const [text, close] = [tokens[index + 1], tokens[index + 2]];
      if (token.type !== 'th_open' || text?.content !== '' || close === undefined) continue;
      token.tag = 'td';
      close.tag = 'td';
    }
  });
}
interface Cell {
  type: string;
  tag: string;
  content: string;
}

export default withMermaid({
  title: 'Carillon',
  description:
    "Self-hosted server that gives applications one HTTP API over their users' mail and calendar accounts",
  srcDir: 'docs',
  outDir: 'dist',
  cacheDir: '../node_modules/.cache/website',
  base: BASE,
  // website/home.md is the first page.
  rewrites: { 'README.md': 'pages.md', ':folder/README.md': ':folder/index.md' },
  head: [['link', { rel: 'icon', href: ICON }]],
  // The theme gives the first page no landmark.
  transformHtml: (html) =>
    html.replace('<div class="VPContent is-home"', '<div role="main" class="VPContent is-home"'),
  // Diagrams and the search need large files, which only pages that use them load.
  vite: { build: { chunkSizeWarningLimit: 3_000 } },
  // The addresses of a server that the reader starts.
  ignoreDeadLinks: 'localhostLinks',
  cleanUrls: true,
  lastUpdated: true,
  // The pages are plain Markdown: `<` in a text is a character, not HTML or a Vue component.
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    html: false,
    config: (md) => {
      linkSources(md as never);
      leaveOutComments(md as never);
      leaveOutEmptyHeadings(md as never);
    },
  },
  themeConfig: {
    nav: [
      { text: 'All pages', link: '/pages' },
      { text: 'Quickstart', link: '/quickstart' },
      { text: 'Deployment', link: '/deployment' },
      { text: 'Configuration', link: '/configuration' },
      { text: `Version ${version}`, link: '/pages' },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
    ...(REPOSITORY ? { socialLinks: [{ icon: 'github', link: REPOSITORY }] } : {}),
  },
});
