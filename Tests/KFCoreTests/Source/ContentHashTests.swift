import Testing

@testable import KFCore
@testable import KFStorage

@Suite("Expected hashes")
struct ContentHashTests {
    private static let bytes = Array("hello".utf8)
    private static let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    private static let sri256 = "sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="
    private static let sri384 = "sha384-WeF0h3dEjGnea4ANejO7+5/xtGPkQ1TDVTvNucZm+pASWjx5+QOXvfX2oT3oKGhP"
    private static let sri512 =
        "sha512-m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw=="
    private static let md5 = "5d41402abc4b2a76b9719d911017c592"

    @Test(
        "Every form of a hash matches its bytes and no others",
        arguments: [
            sha256, sha256.uppercased(), "sha256:" + sha256, sri256, String(sri256.dropLast()),
            sri256 + "?ct=image/png",
            sri384, sri512, md5, "md5:" + md5, "sha1-anything " + sri256,
            sri256.replacing("+", with: "-").replacing("/", with: "_"),
        ])
    func forms(text: String) throws {
        let hash = try #require(ContentHash(text))
        #expect(hash.matches(Self.bytes) && !hash.matches(Array("hell".utf8)))
        #expect(ContentHash(hash.description) == hash)
    }

    @Test("Of several hashes, one of the strongest kind is enough")
    func several() throws {
        let other = "sha512-" + String(repeating: "A", count: 86) + "=="
        #expect(try #require(ContentHash("\(Self.sri256) \(Self.sri512)")).function == .sha512)
        #expect(try #require(ContentHash("\(other) \(Self.sri512)")).matches(Self.bytes))
        #expect(try !#require(ContentHash("\(Self.sri256) \(other)")).matches(Self.bytes), "the stronger one counts")
        #expect(try #require(ContentHash("\(Self.md5) \(Self.sri256)")).function == .sha256)
    }

    @Test(
        "Anything else is no hash",
        arguments: [
            "", " ", "hello", "sha256-", "sha256-AAAA", sri256 + "A", "sha256:" + md5, "md5:" + sha256, "md5-" + md5,
            "sha1-anything", String(sha256.dropLast()), sha256 + "0", "sha256:" + sri256, "sha256-" + sha256, "-", "-A",
            ":",
            String(sha256.dropLast()) + "g", sri256 + " sha256-x",
        ])
    func refused(text: String) { #expect(ContentHash(text) == nil) }

    @Test("A known SHA-256 is compared without hashing again")
    func digest() throws {
        let digest = Self.bytes.withUnsafeBytes(SHA256.hash)
        #expect(ContentHash(Self.sri256)?.digest == digest && ContentHash(digest).description == Self.sri256)
        #expect(ContentHash(Self.sri256)?.matches(digest) == true && ContentHash(Self.sri512)?.matches(digest) == nil)
    }
}
