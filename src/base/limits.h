/* Every limit of SPEC.md section 12, and the ceilings of our own buffers, by name. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define LIMIT_POLICY_BYTES    (512u << 20) /* one policy file */
#define LIMIT_RULES           1000000u     /* of all files together */
#define LIMIT_MESSAGE_BYTES   (16u << 20)  /* one message or one call */
#define LIMIT_JSON_DEPTH      64u      /* containers inside one another; for a call, counted from `input` */
#define LIMIT_CALL_PATHS      4096u    /* strings of one call that are read as paths */
#define LIMIT_CALL_COMMANDS   256u     /* different commands of one call, those read aside included */
#define LIMIT_CALL_HOSTS      256u     /* different hosts of one call */
#define LIMIT_READINGS        16384u   /* of one call */
#define LIMIT_CALL_WORK       1000000u /* components walked for one call; one asked of the kernel counts 16 */
#define LIMIT_TREE_ENTRIES    100000u  /* entries looked at below the trees of one call */
#define LIMIT_GLOB_ENTRIES    10000u   /* entries looked at for the wildcards of one string */
#define LIMIT_PATH_BYTES      4095u    /* one path, as a string and as a canonical path */
#define LIMIT_LINKS           40u      /* symbolic links followed for one path */
#define LIMIT_ID_CHARS        120u
#define LIMIT_REASON_CHARS    200u
#define LIMIT_TTL_MS          86400000u
#define LIMIT_APPROVERS       10u
#define LIMIT_APPROVER_GROUPS 10u
#define LIMIT_WAITING         16u     /* requests that wait for one session */
#define LIMIT_REQUEST_MS      900000u /* a request without an end times out */
#define DEFAULT_TTL_MS        300000u
#define DEFAULT_PRIORITY      100

#endif
