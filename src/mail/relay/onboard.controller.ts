import { Body, Controller, Delete, Get, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { emptyView } from '../../platform/wire/wire.schema.ts';
import { toVerifiedStatusView } from './relay.mapper.ts';
import { type RemoveSender, removeSenderSchema, verifiedStatusView } from './relay.schema.ts';
import { RelayRoutesService } from './relay-routes.service.ts';

@ApiTags('outbox')
@AccountAuth({ anyScope: SCOPES_FOR.sendMail })
@Controller('v2/outbox/onboard')
export class OnboardController {
  constructor(private readonly senders: RelayRoutesService) {}

  @Get('verified_status')
  @ApiErrors(503)
  @Endpoint({
    summary: "Ask whether the application's mailing service takes mail from the account",
    description:
      'It does if either field is true. Both are false for an application without a mailing service.',
    response: verifiedStatusView,
  })
  async verifiedStatus(@CurrentAccount() account: AccountPrincipal) {
    return toVerifiedStatusView(await this.senders.status(account));
  }

  @Delete('subuser')
  @ApiErrors(503)
  @Endpoint({
    summary: "Remove the account from the application's mailing service",
    description:
      'Its messages no longer use the service, until the account is connected again or the service is set up anew. `email` may be left out only with the whole body.',
    response: emptyView,
  })
  async removeSubuser(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: removeSenderSchema }) { email }: RemoveSender,
    @Req() { headers }: Request,
  ) {
    // The Java client sends no body. The address of a request with a body is never guessed.
    if (email === undefined && hasBody(headers))
      throw new InvalidInputError('email is required', { missingFields: ['email'] });
    await this.senders.remove(account, email ?? account.email);
    return '';
  }
}

function hasBody(headers: Request['headers']): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}
