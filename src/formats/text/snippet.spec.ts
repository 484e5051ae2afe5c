import { snippetOf } from './snippet.ts';

describe('snippetOf', () => {
  it.each([
    ['<p>Hi&nbsp;Ada,</p>\n<p>lunch?</p>', 'Hi Ada, lunch?'],
    ['<style>p { color: red }</style><b>x</b>', 'x'],
    ['<HEAD><title>No</title></HEAD>Yes', 'Yes'],
    ['<header>Yes</header>', 'Yes'],
    ['a<!-- <b>no</b> -->b', 'a b'],
    ['1 < 2 &amp;&lt;3&#x21;&#33;', '1 < 2 &<3!!'],
    ['&nonsense; &#0; &#x110000;', '&nonsense; &#0; &#x110000;'],
    ['<p>İyi İşler</p><b>İzmir</b><STYLE>p { color: red }</STYLE>', 'İyi İşler İzmir'],
    ['cut <a href="', 'cut'],
    ['<style>never closed', ''],
    ['<!-- never closed', ''],
    ['', ''],
  ])('%j → %j', (html, snippet) => {
    expect(snippetOf(html)).toBe(snippet);
  });

  it('has at most 191 characters and never half a surrogate pair', () => {
    const snippet = snippetOf('😀'.repeat(300));
    expect(snippet).toBe('😀'.repeat(95));
  });

  it.each(['<style>', '<!--', '<', '<style', '&#', '<a '])(
    'handles a million times %j',
    (hostile) => {
      expect(snippetOf(hostile.repeat(1_000_000)).length).toBeLessThanOrEqual(191);
    },
  );
});
