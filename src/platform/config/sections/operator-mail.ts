import { z } from 'zod';

/**
 * The operator's own mail server, for mails of the server itself. Its password appears in no log
 * and no response.
 */
export interface OperatorMailConfig {
  /** Sender address of these mails. */
  from: string;
  /** Settings of a mailing service of kind `smtp` (docs/relay.md). */
  smtp: {
    host: string;
    port: number;
    security: 'tls' | 'starttls' | 'none';
    username?: string;
    password?: string;
  };
}

const SECURITIES: Readonly<
  Record<string, { security: 'tls' | 'starttls' | 'none'; port: number }>
> = {
  'smtps:': { security: 'tls', port: 465 },
  'smtp:': { security: 'starttls', port: 587 },
  'smtp+plain:': { security: 'none', port: 25 },
};

function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== null;
  } catch {
    return false;
  }
}

const smtpUrl = z
  .string()
  .refine(
    (value) =>
      URL.canParse(value) && SECURITIES[new URL(value).protocol] && new URL(value).hostname !== '',
    'must be smtps://user:password@host:port, smtp://… for STARTTLS, or smtp+plain://… without encryption',
  )
  .refine((value) => {
    if (!URL.canParse(value)) return true;
    const { username, password } = new URL(value);
    return (username === '') === (password === '');
  }, 'must contain both a user name and a password, or neither')
  .refine((value) => {
    if (!URL.canParse(value)) return true;
    const { username, password } = new URL(value);
    return isEncoded(username) && isEncoded(password);
  }, 'must write a "%" in the user name or password as %25')
  .transform((value): OperatorMailConfig['smtp'] => {
    const { protocol, hostname, port, username, password } = new URL(value);
    const { security, port: defaultPort } = SECURITIES[protocol] ?? {
      security: 'starttls',
      port: 587,
    };
    const login = {
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
    };
    const host = hostname.replace(/^\[|\]$/g, '');
    return { host, port: port ? Number(port) : defaultPort, security, ...(username ? login : {}) };
  });

export const operatorMailVariables = {
  OPERATOR_SMTP_URL: smtpUrl.optional(),
  OPERATOR_MAIL_FROM: z.email('must be a mail address').optional(),
};

/**
 * @param problems receives the name of a variable that is missing
 * @returns `null` if neither variable is set: the server then sends no mail of its own
 */
export function operatorMailConfig(
  {
    OPERATOR_SMTP_URL: smtp,
    OPERATOR_MAIL_FROM: from,
  }: z.infer<z.ZodObject<typeof operatorMailVariables>>,
  problems: string[],
): OperatorMailConfig | null {
  if (smtp === undefined && from === undefined) return null;
  if (smtp === undefined)
    problems.push('OPERATOR_SMTP_URL: is required together with OPERATOR_MAIL_FROM');
  if (from === undefined)
    problems.push('OPERATOR_MAIL_FROM: is required together with OPERATOR_SMTP_URL');
  return smtp && from ? { smtp, from } : null;
}
