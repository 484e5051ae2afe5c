import { MOST_SHOWN, safeHtml } from './safe-html.ts';

describe('the content of a message in the preview', () => {
  it.each([
    ['scripts', '<script>alert(1)</script>a<svg onload=alert(1)><script>x</script></svg>b', 'ab'],
    ['handlers', '<p onclick="x" style="color:red">a</p>', '<p style="color:red">a</p>'],
    ['remote pictures', '<img src="https://t.example/p.gif" alt="x">', '<img alt="x">'],
    ['frames', 'a<iframe src="https://x.example"><p>b</p></iframe>c', 'ac'],
    ['forms', '<form action="https://x.example"><input name=a>t</form>', 't'],
    ['addresses of the page', '<base href="https://x.example"><link rel=stylesheet href=x>t', 't'],
    ['refreshes', '<meta http-equiv="refresh" content="0;url=https://x.example">t', 't'],
    ['comments', '<!--[if mso]><script>x</script><![endif]-->t', 't'],
    ['templates', '<template><img src=x></template>t', 't'],
  ])('has no %s', async (_, content, shown) => {
    expect(await safeHtml(content)).toBe(shown);
  });

  it('keeps styles and the pictures that it contains', async () => {
    const content =
      '<style>p > b { color: red }</style><img src="data:image/png;base64,AAAA"><p><b>x</b></p>';
    expect(await safeHtml(content)).toBe(content);
  });

  it('shows where links lead, and they lead nowhere', async () => {
    expect(await safeHtml('<a href="javascript:alert(1)" title="bank">x</a>')).toBe(
      '<a title="javascript:alert(1)" class="link">x</a>',
    );
  });

  it('keeps text that only looks like markup as text', async () => {
    expect(await safeHtml('a &lt;script&gt; b')).toBe('a &lt;script&gt; b');
  });

  it('hides nothing behind an element that has no end tag', async () => {
    expect(await safeHtml('<embed src=x>a<math/>b')).toBe('ab');
  });

  it('shows only the first part of a long message', async () => {
    expect((await safeHtml('x'.repeat(MOST_SHOWN + 1))).length).toBe(MOST_SHOWN);
  });
});
