import Foundation
import KFCore

// What Kingfisher's sources have and these do not, or under another name.
//
// The compiler refuses every call, so that no body runs: `fatalError` stands where a value would be returned.

extension ImageDataProvider {
    @available(*, unavailable, message: "await data(), which returns the bytes")
    public func data(handler: @escaping @Sendable (Result<Data, any Error>) -> Void) {}

    @available(*, unavailable, message: "LocalFileImageDataProvider.path is the path of its file")
    public var contentURL: URL? { fatalError() }
}

@available(*, unavailable, message: "videos are not read; a provider of your own may return a picture of one")
public struct AVAssetImageDataProvider {
    public init(assetURL: URL, seconds: TimeInterval) {}
}

@available(*, unavailable, message: "there is no photo library here")
public struct PHPickerResultImageDataProvider {}
