import { snippetOf } from './snippet.ts';

describe('snippetOf', () => {
  it.each([
    ['<p>Hi&nbsp;Ada,</p>\n<p>lunch?</p>', 'Hi Ada, lunch?'],
    ['<style>p { color: red }</style><b>x</b>', 'x'],
    ['<HEAD><title>No</title></HEAD>Yes', 'Yes'],
    ['<header>Yes</header>', 'Yes'],
    ['a<!-- <b>no</b> -->b', 'ab'],
    ['He<b>llo</b> <I>w</I>o<wbr>rld<sup>2</sup>', 'Hello world2'],
    ['<a href="x">li</a><span>nk</span><font>ed</font><o:p></o:p><style>b{}</style>!', 'linked!'],
    ['one<br>two<hr>three<BR/>four<p>five</p>six', 'one two three four five six'],
    ['<table><tr><td>1<td>2</td></tr><tr><th>3</table>4', '1 2 3 4'],
    ['<ul><li>a<li>b</ul>c<dl><dt>d<dd>e</dl>f', 'a b c d e f'],
    ['left<img src="x.gif">right', 'left right'],
    ['Don&shy;ners&#173;tag, Ge\u200bburts&#8203;tag', 'Donnerstag, Geburtstag'],
    ['Now&nbsp;&zwnj;&nbsp;&#847;&zwnj;&zwnj; &zwj;here&zwnj;', 'Now here'],
    [
      '\u{1f468}\u200d\u{1f469}\u200d\u{1f467} می‌خواهم',
      '\u{1f468}\u200d\u{1f469}\u200d\u{1f467} می‌خواهم',
    ],
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

  it.each(['<style>', '<!--', '<', '<style', '&#', '<a ', '</', '<p', '&zwj;', '\u200d'])(
    'handles a million times %j',
    (hostile) => {
      expect(snippetOf(hostile.repeat(1_000_000)).length).toBeLessThanOrEqual(191);
    },
  );
});
