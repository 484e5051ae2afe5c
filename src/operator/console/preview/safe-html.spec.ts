import { MOST_SHOWN, safeHtml } from './safe-html.ts';

const shownOf = (content: string): string => safeHtml(content).html;
const leftOutOf = (content: string) =>
  safeHtml(content).leftOut.map(({ what, count, text }) => [what, count, text]);

describe('the content of a message in the preview', () => {
  it.each([
    ['scripts', '<script>alert(1)</script>a<svg onload=alert(1)><script>x</script></svg>b', 'ab'],
    ['handlers', '<p onclick="x" style="color:red">a</p>', '<p style="color:red">a</p>'],
    ['remote pictures', '<img src="https://t.example/p.gif" alt="x">', '<img alt="x">'],
    ['addresses of the page', '<base href="https://x.example"><link rel=stylesheet href=x>t', 't'],
    ['refreshes', '<meta http-equiv="refresh" content="0;url=https://x.example">t', 't'],
    ['comments', '<!--[if mso]><script>x</script><![endif]-->t', 't'],
    ['templates', '<template><img src=x></template>t', 't'],
    [
      'markup that is text in the parser of a drawing',
      '<svg><style>&lt;/style>&lt;img src=x></style></svg>t',
      't',
    ],
  ])('has no %s', (_, content, shown) => {
    expect(shownOf(content)).toBe(shown);
  });

  it.each([
    ['a drawing', '<svg><text>Pay <tspan>now</tspan></text></svg>', 'Pay now'],
    [
      'HTML in a drawing',
      '<svg><foreignObject><p>Pay now</p></foreignObject></svg>',
      '<p>Pay now</p>',
    ],
    ['a formula', '<math><mtext>Pay now</mtext></math>', 'Pay now'],
    ['noscript', '<noscript><b>Pay</b> now</noscript>', '<b>Pay</b> now'],
    ['noembed', '<noembed>Pay &lt;now></noembed>', 'Pay &amp;lt;now&gt;'],
    [
      'a frame that is not loaded',
      '<iframe src="https://x.example"><p>Pay now</p></iframe>',
      '&lt;p&gt;Pay now&lt;/p&gt;',
    ],
    ['an object', '<object data="x.swf">Pay <i>now</i></object>', 'Pay <i>now</i>'],
    [
      'a form',
      '<form action="https://x.example"><select><option>Pay now</select><textarea>a<b></textarea></form>',
      'Pay nowa&lt;b&gt;',
    ],
    ['a drawing that has no end tag', '<embed src=x>Pay<svg/> now', 'Pay now'],
    ['a video', '<video src=x>Pay now</video>', 'Pay now'],
  ])('has the text of %s, which some mail programs show', (_, content, shown) => {
    expect(shownOf(content)).toBe(shown);
  });

  it('lists what it leaves out, with the text that recipients may see in other programs', () => {
    expect(
      leftOutOf(
        '<!--[if mso]>Call 0900<![endif]--><form action="https://x.example"><input value="Pay"><input value="now"></form>' +
          '<iframe srcdoc="Your &lt;b>account"></iframe><template>gone</template><img src="https://t.example/p.gif">',
      ),
    ).toEqual([
      ['comment', 1, '[if mso]>Call 0900<![endif]'],
      ['<form>', 1, 'https://x.example'],
      ['<input>', 2, 'Pay\nnow'],
      ['<iframe>', 1, 'Your <b>account'],
      ['<template>', 1, 'gone'],
      ['remote picture', 1, 'https://t.example/p.gif'],
    ]);
    expect(leftOutOf('<p style="color:red">t</p><style>p { color: blue }</style>')).toEqual([]);
  });

  it('lists a limited number of elements with a limited text', () => {
    const many = Array.from({ length: 500 }, (_, index) => `<x${index} alt="${'y'.repeat(100)}">`);
    const listed = safeHtml(many.join('')).leftOut;
    expect(listed).toHaveLength(51);
    expect(listed.at(-1)).toMatchObject({ what: 'other elements', count: 450 });
    expect(Math.max(...listed.map(({ text }) => text.length))).toBe(4_000);
  });

  it('keeps styles and the pictures that it contains', () => {
    const content =
      '<style>p > b { color: red }</style><img src="data:image/png;base64,AAAA"><p><b>x</b></p>';
    expect(shownOf(content)).toBe(content);
  });

  it('keeps the colours of the body, on which text may be readable only', () => {
    expect(safeHtml('<body bgcolor=black text=white onload=x>t')).toMatchObject({
      bodyAttributes: ' bgcolor="black" text="white"',
      html: 't',
    });
  });

  it('shows where links lead, and they lead nowhere', () => {
    expect(shownOf('<a href="javascript:alert(1)" title="bank">x</a>')).toBe(
      '<a title="javascript:alert(1)" class="link">x</a>',
    );
  });

  it('keeps text that only looks like markup as text', () => {
    expect(shownOf('a &lt;script&gt; b')).toBe('a &lt;script&gt; b');
  });

  it('reads elements however deep and however many they are', () => {
    expect(shownOf(`${'<b>'.repeat(20_000)}x`)).toContain('x');
    expect(shownOf('<br>'.repeat(120_000))).toHaveLength(480_000);
  });

  it('shows only the first part of a long message, and says so', () => {
    const { html, leftOut } = safeHtml('x'.repeat(MOST_SHOWN + 1));
    expect(html).toHaveLength(MOST_SHOWN);
    expect(leftOut).toEqual([
      { what: 'everything after the first 512 thousand characters', count: 1, text: '' },
    ]);
  });
});
