import Support
import Testing

@testable import KFCore

@Suite("Downloads that continue an earlier one", .bounded)
struct ResumedDownloadTests {
    /// A cache without a size limit keeps a part of any size.
    @Test(
        "A refused rest restarts the download unless the image is gone",
        arguments: [(416, true), (403, true), (404, false), (503, false)], [0, 10 << 20] as [Int64])
    func refused(_ refusal: (status: Int, restarts: Bool), _ limit: Int64) async throws {
        let image = try ManagerFixture.fixture("gallery.jpg")
        let isCut = SharedValue(false)
        let server = try FaultServer { request in
            if request.header("Range") != nil { return [.reply("\(refusal.status) No")] }
            let head = FaultStep.head("HTTP/1.1 200 OK", "ETag: \"1\"", "Content-Length: \(image.count)")
            defer { isCut.value = true }
            return isCut.value ? [head, .send(image)] : [head, .send(Array(image[..<400_000])), .close]
        }
        let fixture = try ManagerFixture(caching: { $0.diskSizeLimit = limit })
        let options = ManagerFixture.options { $0.request.proxy = "" }
        #expect(await failure { try await fixture.get(options, from: server.url("/a.jpg")) } != nil)
        let error = await failure { try await fixture.get(options, from: server.url("/a.jpg")) }
        #expect(error?.httpStatus == (refusal.restarts ? nil : refusal.status))
        #expect(server.requests.map { $0.header("Range") != nil } == [false, true] + (refusal.restarts ? [false] : []))
    }
}
