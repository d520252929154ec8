import KFNetwork

@testable import KFCore
@testable import KFPipeline

/// A server that gives two users different images, and everybody else a third one.
struct IdentityFixture {
    let transport: ScriptedTransport
    let fixture: ManagerFixture
    /// By the secret that asks for it; `""` is what anybody gets.
    let images: [String: [UInt8]]

    var manager: KingfisherManager { fixture.manager }

    init() throws {
        let images = [
            "ann": try ManagerFixture.fixture("png/rgb.png"), "bob": try ManagerFixture.fixture("png/grey.png"),
            "": try ManagerFixture.fixture("png/rgba.png"),
        ]
        self.images = images
        transport = ScriptedTransport { request, _ in
            let said = request.url + request.headers.map(\.value).joined() + (request.options.credentials?.user ?? "")
            let user = ["ann", "bob"].first { said.contains($0) } ?? ""
            return .init(body: images[user] ?? [])
        }
        fixture = try ManagerFixture(transport: transport)
    }

    func image(_ user: String) -> [UInt8] { images[user] ?? [] }

    /// Adds a header that names the user.
    static func modifier(_ user: String, _ header: String = "Authorization") -> AnyModifier {
        AnyModifier { request in
            var request = request
            request.headers.append((header, user))
            return request
        }
    }

    func retrieve(
        _ url: String = "http://h/a.png", _ change: (inout KingfisherOptions) -> Void = { _ in }
    ) async throws -> (way: RetrievalWay, user: String?, key: String) {
        let result = try await manager.retrieveImage(
            with: .network(RequestURL(url)), options: ManagerFixture.options(change))
        let bytes = try await result.data()
        return (result.way, images.first { $0.value == bytes }?.key, result.key)
    }
}
