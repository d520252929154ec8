extension ProcessorSyntax {
    static let roundCorner = ProcessorSyntax(
        name: "round-corner", parameters: ["radius", "corners", "size", "background"]
    ) { (arguments) throws(ImagingError) in
        let radius = try arguments.radius("radius")
        let corners = try arguments.corners("corners")
        let size = arguments.text("size") == nil ? nil : try arguments.size("size", "320x240")
        let background = try arguments.color("background", default: .transparent)
        guard
            let processor = RoundCornerImageProcessor(
                radius: radius, corners: corners, size: size, background: background)
        else { throw arguments.fail("radius is not possible") }
        return processor
    }

    static let border = ProcessorSyntax(name: "border", parameters: ["width", "color", "radius", "corners"]) {
        (arguments) throws(ImagingError) in
        let width = try arguments.number("width", above: 0, upTo: BorderImageProcessor.maximumWidth, default: 4)
        let color = try arguments.color("color", default: .black)
        let radius = try arguments.radius("radius", default: .points(0))
        let corners = try arguments.corners("corners")
        guard let processor = BorderImageProcessor(lineWidth: width, color: color, radius: radius, corners: corners)
        else { throw arguments.fail("width is not possible") }
        return processor
    }

    static let sharpen = ProcessorSyntax(name: "sharpen", parameters: ["sigma"]) { (arguments) throws(ImagingError) in
        let sigma = try arguments.number("sigma", above: 0, upTo: SharpenImageProcessor.maximumSigma)
        guard let processor = SharpenImageProcessor(sigma: sigma) else { throw arguments.fail("sigma is not possible") }
        return processor
    }
}
