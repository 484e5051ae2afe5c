/**
 * Why an outgoing request got no response.
 * - `blocked`: the address is private or reserved, and not allowed
 * - `dns`: the name does not resolve
 * - `connect`: no TCP connection
 * - `tls`: no secure connection, or an invalid certificate
 * - `timeout`: connecting or the whole exchange took too long
 * - `protocol`: the connection broke, or the server did not send HTTP
 */
export type EgressErrorKind = 'blocked' | 'dns' | 'connect' | 'tls' | 'timeout' | 'protocol';

/**
 * An outgoing request got no response. `message` may be shown to the owner of the address: it never
 * reveals the address that a name resolved to.
 */
export class EgressError extends Error {
  readonly kind: EgressErrorKind;

  constructor(kind: EgressErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EgressError';
    this.kind = kind;
  }
}

const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|CRL_|ERROR_IN_C|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|EPROTO$)/;

/** Error kinds by error code, with their messages. The first kind that matches any code is used. */
const KINDS: readonly [kind: EgressErrorKind, codes: RegExp, message: (code: string) => string][] =
  [
    ['blocked', /^ERR_IP_BLOCKED$/, () => 'the address is not a public one'],
    [
      'timeout',
      /^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/,
      () => 'no connection in time',
    ],
    [
      'dns',
      /^(ENOTFOUND|EAI_(AGAIN|FAIL|NODATA|NONAME|ADDRFAMILY))$/,
      (code) => `the host name does not resolve (${code})`,
    ],
    ['tls', TLS_CODE, (code) => `no secure connection (${code})`],
    [
      'connect',
      /^E(CONNREFUSED|HOSTUNREACH|NETUNREACH|HOSTDOWN|NETDOWN|ADDRNOTAVAIL|ACCES|PERM|INVAL)$/,
      (code) => `no connection (${code})`,
    ],
  ];

/** Codes of an error, of its causes, and of each address that was tried (happy eyeballs). */
function codesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { code, errors, cause } = error as { code?: unknown; errors?: unknown; cause?: unknown };
  return [
    ...(typeof code === 'string' ? [code] : []),
    ...(Array.isArray(errors) ? errors.flatMap(codesOf) : []),
    ...codesOf(cause),
  ];
}

/** Converts any transport error to an `EgressError`. */
export function toEgressError(error: unknown): EgressError {
  if (error instanceof EgressError) return error;
  const codes = codesOf(error);
  for (const [kind, test, message] of KINDS) {
    const code = codes.find((one) => test.test(one));
    if (code !== undefined) return new EgressError(kind, message(code), { cause: error });
  }
  return new EgressError('protocol', `the connection broke (${codes[0] ?? 'unknown'})`, {
    cause: error,
  });
}
