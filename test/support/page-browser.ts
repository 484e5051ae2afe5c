/** The response that a browser received. */
export interface Visited {
  status: number;
  headers: Headers;
  text: string;
  /** Address of the redirect, or `null` if the response is not a redirect. */
  location: string | null;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  '#96': '`',
};
const decode = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39|#96);/g, (_, name: string) => ENTITIES[name] ?? '');

/**
 * A browser without windows and JavaScript. It keeps cookies and reads forms, and does not follow
 * redirects by itself.
 */
export class PageBrowser {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly cookies = new Map<string, string>();
  /** The current page. */
  page: Visited = { status: 0, headers: new Headers(), text: '', location: null };

  /** @param headers sent with every request, in addition to a browser's own */
  constructor({ url }: { url: string }, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  /** @param address may be absolute; then its host must be the server's */
  get(address: string): Promise<Visited> {
    return this.#go(address, { method: 'GET' });
  }

  /** Submits a form of the page with more values. @param step the end of the form's action */
  async submit(step: string, values: Readonly<Record<string, string>> = {}): Promise<Visited> {
    const { action, fields } = this.form(step);
    const body = new URLSearchParams({ ...fields, ...values });
    return this.#go(action, { method: 'POST', body });
  }

  /** Like `submit`, and then follows a redirect within the server. */
  async follow(step: string, values: Readonly<Record<string, string>> = {}): Promise<Visited> {
    const answer = await this.submit(step, values);
    return answer.location?.startsWith('/') ? this.get(answer.location) : answer;
  }

  /** Follows a redirect to a company's sign-in, whose stub sends the browser back at once. */
  async visitCompany(): Promise<Visited> {
    const answer = await fetch(this.page.location ?? '', { redirect: 'manual' });
    const back = await this.get(answer.headers.get('location') ?? '');
    return back.location?.startsWith('/') ? this.get(back.location) : back;
  }

  post(address: string, values: Readonly<Record<string, string>>): Promise<Visited> {
    return this.#go(address, { method: 'POST', body: new URLSearchParams(values) });
  }

  /** The action and the fields of a form of the page. @throws if there is no such form */
  form(step: string): { action: string; fields: Record<string, string> } {
    for (const [, attributes = '', content = ''] of this.page.text.matchAll(
      /<form([^>]*)>(.*?)<\/form>/gs,
    )) {
      const action = decode(/action="([^"]*)"/.exec(attributes)?.[1] ?? '');
      if (!action.split('?')[0]?.endsWith(`/${step}`)) continue;
      const fields: Record<string, string> = {};
      for (const [, input = ''] of content.matchAll(/<input([^>]*)>/gs)) {
        const name = /\bname="([^"]*)"/.exec(input)?.[1];
        if (name) fields[name] = decode(/\bvalue="([^"]*)"/.exec(input)?.[1] ?? '');
      }
      for (const [, name = '', options = ''] of content.matchAll(
        /<select[^>]*\bname="([^"]*)"[^>]*>(.*?)<\/select>/gs,
      )) {
        fields[name] = decode(/value="([^"]*)" selected/.exec(options)?.[1] ?? '');
      }
      return { action, fields };
    }
    throw new Error(`the page has no form for ${step}: ${this.page.text.slice(0, 2_000)}`);
  }

  /** The error text that the page shows for a field, or `null`. */
  error(field: string): string | null {
    const id = `field-${field.replaceAll('_', '-')}-error`;
    return decode(new RegExp(`id="${id}">([^<]*)<`).exec(this.page.text)?.[1] ?? '') || null;
  }

  async #go(address: string, init: RequestInit): Promise<Visited> {
    const { pathname, search } = new URL(address, this.#url);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(this.#url + pathname + search, {
      ...init,
      redirect: 'manual',
      headers: {
        ...(cookie ? { cookie } : {}),
        accept: 'text/html',
        'user-agent': 'PageBrowser/1',
        ...this.#headers,
      },
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
      this.cookies.set(name, value);
    }
    this.page = {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      location: response.headers.get('location'),
    };
    return this.page;
  }
}
