import Foundation

/// The test pictures of the repository.
enum Fixture {
    static let folder = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../Fixtures").standardized

    static func bytes(_ path: String) throws -> [UInt8] {
        try Array(Data(contentsOf: folder.appendingPathComponent(path)))
    }
}
