import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import {
  availabilityBody,
  type AvailabilityBody,
  availabilityView,
  consecutiveBody,
  type ConsecutiveBody,
  consecutiveView,
  freeBusyBody,
  type FreeBusyBody,
  freeBusyView,
} from './availability.schema.ts';
import {
  toAvailabilityView,
  toChainRequest,
  toConsecutiveView,
  toFreeBusyView,
  toSlotRequest,
  toSpan,
  toWanted,
} from './availability.mapper.ts';
import { AvailabilityService } from './availability.service.ts';

@ApiTags('calendars')
@AccountAuth({ anyScope: SCOPES_FOR.readFreeBusy })
@Controller('calendars')
export class AvailabilityController {
  constructor(private readonly availability: AvailabilityService) {}

  @Post('free-busy')
  @Endpoint({
    summary: 'Busy times of people',
    description:
      'Of any accounts of the application, and of other people whose times the provider of this account shows. The response has times only, no details of events.',
    response: freeBusyView,
  })
  async freeBusy(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: freeBusyBody }) body: FreeBusyBody,
  ) {
    return toFreeBusyView(await this.availability.freeBusy(account, toWanted(body), toSpan(body)));
  }

  @Post('availability')
  @Endpoint({ summary: 'Possible times for one meeting', response: availabilityView })
  async available(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: availabilityBody }) body: AvailabilityBody,
  ) {
    return toAvailabilityView(await this.availability.slots(account, toSlotRequest(body)));
  }

  @Post('availability/consecutive')
  @Endpoint({ summary: 'Possible times for several meetings in a row', response: consecutiveView })
  async consecutive(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: consecutiveBody }) body: ConsecutiveBody,
  ) {
    return toConsecutiveView(await this.availability.chains(account, toChainRequest(body)));
  }
}
