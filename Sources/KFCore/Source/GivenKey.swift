/// Cache keys that a user or a list gives, in place of a source's own.
///
/// They never equal the key of a source: a given key that begins as such a key does is stored behind `key:`. Any other
/// is stored as it is, `shoes` as `shoes`.
package enum GivenKey {
    package static let prefix = "key:"

    /// How the keys of URLs, files and bytes begin, and the prefix itself: `key:a` must not be what `a` becomes.
    private static let reserved = ["http:", "https:", "file:", "data:", "sha256:", prefix]

    /// The key in the cache.
    package static func cacheKey(_ given: String) -> String {
        let start = given.prefix(8).lowercased()
        return reserved.contains(where: start.hasPrefix) ? prefix + given : given
    }
}
