import { Body, Controller, Delete, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/error.schema.ts';
import { toVerifiedStatusView } from './relay.mapper.ts';
import {
  emptyView,
  type RemoveSender,
  removeSenderSchema,
  verifiedStatusView,
} from './relay.schema.ts';
import { RelaySenders } from './relay-senders.service.ts';

@ApiTags('outbox')
@AccountAuth({ anyScope: SCOPES_FOR.sendMail })
@Controller('v2/outbox/onboard')
export class OnboardController {
  constructor(private readonly senders: RelaySenders) {}

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
      'Its messages no longer use the service, until the account is connected again or the service is set up anew.',
    response: emptyView,
  })
  async removeSubuser(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: removeSenderSchema }) { email }: RemoveSender,
  ) {
    await this.senders.remove(account, email);
    return '';
  }
}
