/* Addresses that names lead to: how a rule would name them, and which are public. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "net/internal.h"

struct range {
    uint8_t bytes[4];
    unsigned bits;
};

static bool begins_with_bits(const uint8_t *bytes, const uint8_t *prefix, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    uint8_t mask = (uint8_t)(0xff << (8 - rest));
    return memcmp(bytes, prefix, whole) == 0 &&
           (rest == 0 || (bytes[whole] & mask) == (prefix[whole] & mask));
}

/* What the registry of special addresses calls not globally reachable, and multicast. */
bool net_address_is_public_v4(const uint8_t bytes[4])
{
    static const struct range not_public[] = {
        {{0, 0, 0, 0}, 8},      {{10, 0, 0, 0}, 8},    {{100, 64, 0, 0}, 10},   {{127, 0, 0, 0}, 8},
        {{169, 254, 0, 0}, 16}, {{172, 16, 0, 0}, 12}, {{192, 0, 0, 0}, 24},    {{192, 0, 2, 0}, 24},
        {{192, 168, 0, 0}, 16}, {{198, 18, 0, 0}, 15}, {{198, 51, 100, 0}, 24}, {{203, 0, 113, 0}, 24},
        {{224, 0, 0, 0}, 4},    {{240, 0, 0, 0}, 4},
    };
    for (size_t i = 0; i < sizeof(not_public) / sizeof(not_public[0]); i++) {
        if (begins_with_bits(bytes, not_public[i].bytes, not_public[i].bits)) {
            return false;
        }
    }
    return true;
}

/* Of IPv6 only what is global unicast counts as public, but for what leads on to an IPv4 address that is not known here
 * (6to4, Teredo) and documentation. NAT64's and IPv4's own prefixes are as public as the address inside. */
bool net_address_is_public_v6(const uint8_t bytes[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b};
    static const uint8_t global[1] = {0x20}, six_to_four[2] = {0x20, 0x02}, special[3] = {0x20, 0x01, 0x00},
                         documentation[4] = {0x20, 0x01, 0x0d, 0xb8},
                         other_documentation[3] = {0x3f, 0xff, 0x00};
    if (memcmp(bytes, mapped, 12) == 0 || memcmp(bytes, nat64, 12) == 0) {
        return net_address_is_public_v4(bytes + 12);
    }
    return begins_with_bits(bytes, global, 3) && !begins_with_bits(bytes, six_to_four, 16) &&
           !begins_with_bits(bytes, special, 23) && !begins_with_bits(bytes, documentation, 32) &&
           !begins_with_bits(bytes, other_documentation, 20);
}

bool net_address_read(const struct sockaddr *from, uint16_t port, struct address *ret_address)
{
    char text[INET6_ADDRSTRLEN], shown[INET6_ADDRSTRLEN + 3];
    struct address a = {0};
    if (from->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, from, sizeof(in));
        in.sin_port = htons(port);
        memcpy(&a.to, &in, sizeof(in));
        a.is_public = net_address_is_public_v4((const uint8_t *)&in.sin_addr);
        snprintf(shown, sizeof(shown), "%s", inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text)));
    } else if (from->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, from, sizeof(in));
        in.sin6_port = htons(port);
        memcpy(&a.to, &in, sizeof(in));
        a.is_public = net_address_is_public_v6(in.sin6_addr.s6_addr);
        snprintf(shown, sizeof(shown), "[%s]", inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof(text)));
        if (in.sin6_scope_id != 0) {
            return false;
        }
    } else {
        return false;
    }
    if (!url_read_host(slice_of(shown), &a.host)) {
        return false;
    }
    *ret_address = a;
    return true;
}
