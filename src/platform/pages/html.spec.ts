import { attributes, html } from './html.ts';

describe('html', () => {
  it('escapes text between tags and in attributes', () => {
    const hostile = `"><script>alert('x')</script>&\``;
    const page = html`<p title="${hostile}">${hostile}</p>`.text;
    expect(page).toBe(
      '<p title="&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&#96;">' +
        '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&#96;</p>',
    );
  });

  it('inserts Html unchanged, also from lists, and escapes texts in lists', () => {
    const [one, two] = [html`<li>1</li>`, html`<li>2</li>`];
    expect(html`${[one, '<', [two]]}`.text).toBe('<li>1</li>&lt;<li>2</li>');
  });

  it('ignores objects that only look like Html', () => {
    const forged = JSON.parse('{"text":"<b>"}') as never;
    expect(html`${forged}`.text).toBe('');
  });

  it('renders null, undefined and booleans as nothing, and renders numbers', () => {
    expect(html`[${null}${undefined}${true}${false}${0}]`.text).toBe('[0]');
  });

  it('replaces unpaired surrogates', () => {
    expect(html`${'a\ud800b'}`.text).toBe('a\ufffdb');
  });

  it('renders attributes escaped, as a bare name if true, and not at all if absent', () => {
    expect(
      attributes({
        id: 'a"b',
        required: true,
        value: '',
        'aria-label': null,
        hidden: false,
        max: 3,
      }).text,
    ).toBe(' id="a&quot;b" required value="" max="3"');
  });

  it('refuses invalid attribute names', () => {
    expect(() => attributes({ 'onclick="x" a': 1 })).toThrow('is not an attribute name');
  });
});
