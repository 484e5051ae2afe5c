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

  it('puts HTML into HTML as it is, also from lists, whose texts are escaped', () => {
    const [one, two] = [html`<li>1</li>`, html`<li>2</li>`];
    expect(html`${[one, '<', [two]]}`.text).toBe('<li>1</li>&lt;<li>2</li>');
  });

  it('takes nothing that only looks like HTML', () => {
    const forged = JSON.parse('{"text":"<b>"}') as never;
    expect(html`${forged}`.text).toBe('');
  });

  it('makes nothing of null, undefined and booleans, and shows numbers', () => {
    expect(html`[${null}${undefined}${true}${false}${0}]`.text).toBe('[0]');
  });

  it('replaces halves of characters', () => {
    expect(html`${'a\ud800b'}`.text).toBe('a\ufffdb');
  });

  it('writes attributes: escaped, bare when true, not at all when absent', () => {
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

  it('refuses names of attributes that are none', () => {
    expect(() => attributes({ 'onclick="x" a': 1 })).toThrow('no name of an attribute');
  });
});
