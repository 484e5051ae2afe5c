import { z } from 'zod';
import type {
  EgressResponse,
  EgressClient,
  EgressRequest,
} from '../../platform/egress/egress-client.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { askService, jsonOf } from '../port/service-responses.ts';
import { toProviderError } from './sendgrid.errors.ts';
import type { SendGridSettings } from './sendgrid.settings.ts';

/** Largest response, in bytes: enough for a list of a hundred senders or domains. */
const MOST_BYTES = 1024 * 1024;
const PAGE = 100;
/** SendGrid itself allows fewer senders than these pages hold. */
const MOST_PAGES = 20;

const sendersPage = z.object({
  results: z.array(z.object({ id: z.number(), from_email: z.string(), verified: z.boolean() })),
});
const domainsList = z.array(z.object({ domain: z.string(), valid: z.boolean() }));
const scopesView = z.object({ scopes: z.array(z.string()) });
const activityView = z.object({ messages: z.array(z.unknown()) });
const senderView = z.object({ verified: z.boolean() });

/** A sender that SendGrid knows. */
export interface VerifiedSender {
  id: number;
  verified: boolean;
}

/**
 * All requests to SendGrid's v3 API except sending. Every method throws `ProviderError` for an
 * unsuccessful response (`toProviderError`).
 */
export class SendGridApi {
  constructor(
    private readonly egress: EgressClient,
    private readonly clock: Clock,
    private readonly timeoutMs: number,
  ) {}

  /** The scopes of the API key. */
  async scopes(settings: SendGridSettings): Promise<readonly string[]> {
    return (await this.#read(settings, '/v3/scopes', scopesView)).scopes;
  }

  /** Whether exactly this domain is authenticated. A parent domain does not count. */
  async isDomainValid(settings: SendGridSettings, domain: string): Promise<boolean> {
    const wanted = domain.toLowerCase();
    const path = `/v3/whitelabel/domains?limit=${PAGE}&domain=${encodeURIComponent(wanted)}`;
    const domains = await this.#read(settings, path, domainsList);
    return domains.some((one) => one.valid && one.domain.toLowerCase() === wanted);
  }

  /**
   * The sender with this address, or `null`. The API has no filter by address, so the list is read
   * page by page.
   */
  async findSender(settings: SendGridSettings, email: string): Promise<VerifiedSender | null> {
    const wanted = email.toLowerCase();
    let last = 0;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const seen = page === 0 ? '' : `&lastSeenID=${last}`;
      const { results } = await this.#read(
        settings,
        `/v3/verified_senders?limit=${PAGE}${seen}`,
        sendersPage,
      );
      const found = results.find(({ from_email }) => from_email.toLowerCase() === wanted);
      if (found) return found;
      const next = Math.max(last, ...results.map(({ id }) => id));
      if (next === last) return null;
      last = next;
    }
    return null;
  }

  /**
   * Makes SendGrid mail a verification link to the address.
   * @returns whether the address is already verified, as it is if its domain is
   */
  async createSender(
    settings: SendGridSettings,
    { email, name }: { email: string; name: string },
  ): Promise<boolean> {
    const body = {
      nickname: email.slice(0, 100),
      from_email: email,
      from_name: (name || email).slice(0, 256),
      reply_to: email,
      ...settings.sender_address,
    };
    const answer = await this.#call(settings, '/v3/verified_senders', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(body)),
    });
    if (answer.status !== 201 && answer.status !== 200)
      throw toProviderError(answer, this.clock.now());
    return senderView.safeParse(jsonOf(answer.body)).data?.verified ?? false;
  }

  /** Deletes a sender. An unknown id is not an error. */
  async deleteSender(settings: SendGridSettings, id: number): Promise<void> {
    const answer = await this.#call(settings, `/v3/verified_senders/${id}`, { method: 'DELETE' });
    if (![200, 204, 404].includes(answer.status)) throw toProviderError(answer, this.clock.now());
  }

  /** Whether the Email Activity feed has a message with this argument. */
  async hasActivity(settings: SendGridSettings, argument: string, value: string): Promise<boolean> {
    const query = encodeURIComponent(`(unique_args['${argument}']="${value}")`);
    const { messages } = await this.#read(
      settings,
      `/v3/messages?limit=1&query=${query}`,
      activityView,
    );
    return messages.length > 0;
  }

  async #read<T>(settings: SendGridSettings, path: string, shape: z.ZodType<T>): Promise<T> {
    const answer = await this.#call(settings, path, { method: 'GET' });
    if (answer.status !== 200) throw toProviderError(answer, this.clock.now());
    const parsed = shape.safeParse(jsonOf(answer.body));
    if (!parsed.success)
      throw new ProviderError('temporary', 'the response is not one of the SendGrid API');
    return parsed.data;
  }

  #call(settings: SendGridSettings, path: string, request: EgressRequest): Promise<EgressResponse> {
    const headers = { ...authorization(settings), accept: 'application/json', ...request.headers };
    return askService(
      this.egress,
      settings.base_url + path,
      { ...request, headers },
      {
        service: 'SendGrid',
        lost: 'temporary',
        deadlineMs: this.timeoutMs,
        maxBodyBytes: MOST_BYTES,
      },
    );
  }
}

/** The header of every request. */
export function authorization({ api_key }: SendGridSettings): { authorization: string } {
  return { authorization: `Bearer ${api_key}` };
}
