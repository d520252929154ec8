import Foundation

/// A small S3 on a free loopback port. botocore verifies the signature of each request (see `s3_server.py`).
package final class S3Server: Sendable {
    /// An access key, as `AWS_ACCESS_KEY_ID` and its companions name it.
    package struct Key: Sendable {
        package let id: String
        package let secret: String
        package let token: String?

        package init(_ id: String, _ secret: String, token: String? = nil) {
            self.id = id
            self.secret = secret
            self.token = token
        }

        package static let usual = Key("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        package static let temporary = Key("ASIAEXAMPLE", "kX7Qs0mEt/hing+else", token: "session/token+of==many")
    }

    private struct Configuration: Encodable {
        struct Secret: Encodable {
            let secret: String
            let token: String?
        }

        let bucket: String
        let region: String
        let keys: [String: Secret]
        let checksBodies: Bool
        let isConditional: Bool
    }

    package let bucket: String
    package let region: String
    private let process: ServerProcess
    private let state: TemporaryDirectory

    /// Whether Debian's Python has botocore.
    package static var isInstalled: Bool { get async { await installed.value } }

    private static let installed = Task {
        let result = try? await Tool.run("/usr/bin/python3", "-c", "import botocore.auth")
        return result?.status == 0
    }

    /// Without `checksBodies` the server takes any content hash, as most servers do; without `isConditional` it ignores
    /// `If-None-Match`.
    package init(
        bucket: String = "bucket", region: String = "us-east-1", keys: [Key] = [.usual, .temporary],
        checksBodies: Bool = true, isConditional: Bool = true
    ) throws {
        (self.bucket, self.region) = (bucket, region)
        state = try TemporaryDirectory()
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let secrets = keys.map { ($0.id, Configuration.Secret(secret: $0.secret, token: $0.token)) }
        let configuration = Configuration(
            bucket: bucket, region: region, keys: Dictionary(uniqueKeysWithValues: secrets),
            checksBodies: checksBodies, isConditional: isConditional)
        try state.write("config.json", encoder.encode(configuration))
        process = try ServerProcess("/usr/bin/python3", "s3_server.py", [state.url.path])
    }

    /// The endpoint, for `AWS_ENDPOINT_URL`.
    package var address: String { process.address }
    /// The directory of the stored objects: the bucket's.
    package var root: URL { state.path("objects/\(bucket)") }
    /// The failures of the server's own; empty when all is well.
    package var errors: String { process.errors }
    package func url(_ key: String) -> String { "\(address)/\(bucket)/\(key)" }
    package func stop() async throws { try await process.stop() }

    /// Every request so far. The server logs before it answers.
    package func requests() throws -> [LoggedRequest] { try LoggedRequest.all(in: state.path("access.log")) }

    /// The variables by which a program finds the server and signs with a key.
    package func environment(_ key: Key = .usual) -> [String: String] {
        var variables = [
            "AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": key.id, "AWS_SECRET_ACCESS_KEY": key.secret,
            "AWS_REGION": region,
        ]
        variables["AWS_SESSION_TOKEN"] = key.token
        return variables
    }
}
