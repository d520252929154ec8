extension ProcessorSyntax {
    static let downsample = ProcessorSyntax(name: "downsample", parameters: ["size"]) {
        (arguments) throws(ImagingError) in
        DownsamplingImageProcessor(size: try arguments.size("size", "320x240"))
    }

    static let pad = ProcessorSyntax(name: "pad", parameters: ["size", "color"]) {
        (arguments) throws(ImagingError) in
        let size = try arguments.size("size", "320x240")
        let color = try arguments.color("color")
        guard let width = size.width, let height = size.height else { throw arguments.fail("size needs both sides") }
        return PaddingImageProcessor(width: width, height: height, color: color)
    }

    static let rotate = ProcessorSyntax(name: "rotate", parameters: ["angle"]) { (arguments) throws(ImagingError) in
        RotatingImageProcessor(angle: try arguments.choice("angle", as: RotatingImageProcessor.Angle.self))
    }

    static let flip = ProcessorSyntax(name: "flip", parameters: ["direction"]) { (arguments) throws(ImagingError) in
        FlippingImageProcessor(direction: try arguments.choice("direction", as: FlippingImageProcessor.Direction.self))
    }
}
