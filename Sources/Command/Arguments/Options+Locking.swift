import KFCore

/// The hashes that images must have.
extension Options {
    static let locking: [OptionSpec] = [hash.spec, lock.spec, frozen.spec, updateLock.spec, pruneLock.spec]

    static let hash = Option<ContentHash?>(
        "hash", .cache, value: "HASH",
        .one("a hash such as sha256-BASE64, sha256:HEX or 64 hexadecimal digits") { ContentHash($0) },
        excludes: [hashColumn.name], commandLineAlone: true,
        help: "Accept only this hash (sha256-BASE64 or hex)")
    static let lock = Option<String?>(
        "lock", .cache, value: "FILE", .one(.text(needs: "a file such as images.lock")),
        excludes: [hash.name, hashColumn.name, key.name, keyColumn.name, shards.name],
        help: "Accept images only with their hashes in FILE (images.lock), which gets those of new images")
    static let verifiedLock = Option<String?>(
        "lock", .selection, value: "FILE", .one(.text(needs: "a lock of images")), commandLineAlone: true,
        homonym: true, help: "Say which images of this lock the cache has whole, which are missing, and which differ")
    static let frozen = Option(
        "frozen", .cache, .flag, help: "Add nothing to the --lock: new images fail")
    static let updateLock = Option(
        "update-lock", .cache, .flag, excludes: [frozen.name, offline.name, onlyFromCache.name],
        help: "Revalidate, and --lock what is served now")
    static let pruneLock = Option(
        "prune-lock", .cache, .flag, excludes: [frozen.name], commandLineAlone: true,
        help: "Drop from the --lock what this run does not name")
}
