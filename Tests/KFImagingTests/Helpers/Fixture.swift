import Support

/// The test pictures of the repository.
enum Fixture {
    static func bytes(_ path: String) throws -> [UInt8] { try FixturesDirectory.bytes(path) }
}
