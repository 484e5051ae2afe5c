import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { clientAddress } from '../base/client-address.ts';

/**
 * Network address of the client, as `TRUST_PROXY` determines it; the empty string if the connection
 * is closed.
 */
export const ClientAddress = createParamDecorator((_: unknown, context: ExecutionContext): string =>
  clientAddress(context.switchToHttp().getRequest<Request>()),
);
