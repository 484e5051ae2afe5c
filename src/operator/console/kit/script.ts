/**
 * The only script of the console. The pages work without it. It shows the buttons that copy ids,
 * loads pages with current figures again while nobody works in them. The key `/` leads to the
 * search of the page, or to that of jobs if the page has none.
 */
export const SCRIPT = `'use strict';
const prepare = () => {
  for (const button of document.querySelectorAll('button[data-copy]')) button.hidden = false;
};
document.addEventListener('click', async (event) => {
  const button = event.target instanceof Element && event.target.closest('button[data-copy]');
  if (!button) return;
  let text = 'Copied';
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    text = 'Not copied: select the text instead';
  }
  announce(text);
  button.classList.add('copied');
  setTimeout(() => button.classList.remove('copied'), 1500);
});
const announce = (text) => {
  let region = document.getElementById('announcement');
  if (!region) {
    region = document.createElement('div');
    region.id = 'announcement';
    region.setAttribute('role', 'status');
    document.body.append(region);
  }
  region.textContent = text;
  setTimeout(() => { region.textContent = ''; }, 2500);
};
const searchField = () => document.querySelector('form[role=search] input');
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && event.target.closest('input, select, textarea')) return;
  event.preventDefault();
  const search = searchField();
  if (search) search.focus();
  else location.assign('/console/jobs#search');
});
if (location.hash === '#search') searchField()?.focus();
const content = document.getElementById('content');
const seconds = Number(content?.dataset.refresh);
const isBusy = () => {
  const live = document.getElementById('live');
  return document.hidden || live.contains(document.activeElement) || live.querySelector('details[open]')
    || String(getSelection()) !== '';
};
if (seconds > 0) setInterval(async () => {
  if (isBusy()) return;
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (response.redirected) return location.reload();
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const fresh = page.getElementById('live');
    if (!fresh || isBusy()) return;
    document.getElementById('live').replaceWith(document.adoptNode(fresh));
    document.body.classList.remove('stale');
    prepare();
  } catch {
    document.body.classList.add('stale');
  }
}, seconds * 1000);
prepare();
`;
