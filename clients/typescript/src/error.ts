/** A response that is an error. */
export class CarillonError extends Error {
  override readonly name = 'CarillonError';

  constructor(
    /** Status of the response, such as 404. */
    readonly status: number,
    /** Kind of the error, such as `invalid_request_error`. */
    readonly type: string,
    message: string,
    /** The body of the response, as it was sent. */
    readonly body: unknown,
    /** Id of the request, as in the log of the server. */
    readonly requestId: string | undefined,
  ) {
    super(message);
  }

  /** @param request what was requested, for the message */
  static async of(response: Response, request: string): Promise<CarillonError> {
    const text = await response.text();
    const body = parsed(text);
    // Integrations and grants have an envelope around their errors.
    const { type, message } = body?.error ?? body ?? {};
    return new CarillonError(
      response.status,
      type ?? 'unknown_error',
      `${request}: ${response.status} ${message ?? text.slice(0, 200)}`,
      body ?? text,
      response.headers.get('x-request-id') ?? undefined,
    );
  }
}

interface ErrorBody {
  type?: string;
  message?: string;
  error?: { type?: string; message?: string };
}

function parsed(text: string): ErrorBody | undefined {
  try {
    return JSON.parse(text) as ErrorBody;
  } catch {
    return undefined;
  }
}
